"""Runs made elsewhere: tables read and told to a study."""
