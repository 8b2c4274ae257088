"""View: what a person is shown, rounded and worded once; every host draws it. No HTML, no notebook, no torch."""
