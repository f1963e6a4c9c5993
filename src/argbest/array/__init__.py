"""Studies on clusters without a database server: one coordinator and many tasks share only a folder."""
