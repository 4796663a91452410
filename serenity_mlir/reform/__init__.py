"""ReForm: smaller variants of a network, each equal to the network with channels multiplied by zero."""
