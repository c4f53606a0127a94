"""Cases of conformance: one function each, in modules called test_…"""
