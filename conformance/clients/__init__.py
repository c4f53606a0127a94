"""The clients of the cases: members of groups, transactional producers, and SASL, step by step."""
