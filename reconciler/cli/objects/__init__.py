"""What the verbs about objects share: the words for kinds, which objects are meant, and the columns that show them."""
