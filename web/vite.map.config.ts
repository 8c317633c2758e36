import { defineConfig } from "vite";

// The map as one script and one stylesheet, which `conspectus map` writes into a page that needs no network.
export default defineConfig({
  publicDir: false,
  build: {
    outDir: "../src/conspectus/interchange/map",
    emptyOutDir: false,
    target: "es2022",
    lib: { entry: "src/map/offline.tsx", formats: ["iife"], name: "conspectusMap", fileName: () => "map.js", cssFileName: "map" },
  },
});
