#!/usr/bin/env node
// Plain JavaScript, so that it loads on any Node and can say what is wrong with it.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Leasehold needs Node 24 or newer; this is ${process.version}. ` +
      'In a checkout run "npm ci" (without --ignore-scripts); elsewhere install Node 24.',
  );
  process.exit(2);
}

const source = new URL('../src/cli/main.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('../dist/cli/main.js', import.meta.url).href);
