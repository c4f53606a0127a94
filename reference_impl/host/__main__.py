"""`python -m reference_impl.host`: the same as `touchstone serve`."""

import sys

from reference_impl.host.serve import main

sys.exit(main())
