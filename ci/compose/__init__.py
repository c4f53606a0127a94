"""docker-compose.yml shown to work: brought up, seen healthy, attacked, taken down again."""
