"""Security: principals, authentication, and the authorizer."""
