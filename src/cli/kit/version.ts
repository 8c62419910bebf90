import { readFileSync } from 'node:fs';
import { loadConfig } from '../../config/load.ts';
import type { Command } from './command.ts';
import { EXIT } from './exit.ts';

/** `leasehold version`: the versions of Leasehold, Node and SQLite. */
export const version: Command = {
  name: 'version',
  doc: 'Print the versions of Leasehold, Node and SQLite',
  options: ['json'],

  run(args) {
    const { json } = loadConfig(version, args);
    const versions = { leasehold: packageVersion(), node: process.versions.node, sqlite: process.versions.sqlite };
    const text = Object.entries(versions).map(([name, number]) => `${name} ${number}`);
    process.stdout.write(json ? `${JSON.stringify(versions)}\n` : `${text.join('\n')}\n`);
    return Promise.resolve(EXIT.fine);
  },
};

/** From package.json, which is three folders up both in the checkout and in the built package. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
