"""Who asks, and whether he may: principals, authentication, the authorizer."""
