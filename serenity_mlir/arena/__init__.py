"""Arena planners: offsets for slices that share one arena."""
