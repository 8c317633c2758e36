import { defineConfig } from "vite";

// The built files go into the Python package, so that users need no Node.js.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/conspectus/server/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the Content-Security-Policy allows files of this server only
  },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/v1": "http://127.0.0.1:8080" } },
});
