"""The HTTP server: REST, an endpoint for chat clients, MCP and the web app (extra `serve`)."""
