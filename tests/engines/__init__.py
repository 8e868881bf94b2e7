"""Contact physics beside independent engines: MuJoCo, a reference written from the documentation, closed forms."""
