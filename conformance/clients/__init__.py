"""The clients of conformance cases: group members, transactional producers, and SASL step by
step."""
