"""Keep the results of an examination: JSON, JUnit, evidence of each failure, lists of cases."""
