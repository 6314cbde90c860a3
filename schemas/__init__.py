"""What a resource is: the JSON Schemas that are the public contract, and the Python that reads manifests by them."""
