"""Drivers of ReForm: models in and out of the form that its rules are written for."""
