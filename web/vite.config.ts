import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const NODE = 'http://127.0.0.1:7420';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/ui/',
  // JSX is read from tsconfig.json; nothing else needs a plugin.
  build: {
    outDir: 'dist',
    target: 'es2022',
    // A picture or font inside a style sheet would be a data: address, which the CSP of the node refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      '/api': { target: NODE, changeOrigin: true },
      '/ui/login': {
        target: NODE,
        changeOrigin: true,
        bypass: (request) => (request.method === 'GET' ? '/ui/index.html' : undefined),
      },
      '/ui/logout': { target: NODE, changeOrigin: true },
    },
  },
});
