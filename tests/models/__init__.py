"""Models of protocols, explored in every order that their bounds allow. A model is judged before the code that follows it exists."""
