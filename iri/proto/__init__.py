"""The wire: .proto files and the code that `make proto` generates from them. Limits: nothing here is edited by hand but the .proto files.

Each folder is a published package name with its version, so another service (`bucket/v1alpha1`) is another folder.
"""
