DOCUMENTATION: dict[str, str] = {}
