"""Problems: a robot under its laws, its contact and its controller, as equations to integrate."""
