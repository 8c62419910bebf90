import { dirname } from 'node:path';
import { InstallFolder } from './install-folder.ts';
import { Updater } from './updater.ts';

/** `node updater.js [FOLDER]`: runs the worker that is installed in the folder, by default the one of this file. */
const folder = new InstallFolder(process.argv[2] ?? dirname(import.meta.filename));
const say = (line: string): void => void process.stderr.write(`updater: ${line}\n`);

try {
  const updater = new Updater({ folder, now: () => Date.now(), node: process.versions.node, say });
  process.on('SIGTERM', () => updater.stop('SIGTERM'));
  process.on('SIGINT', () => updater.stop('SIGINT'));
  process.exitCode = await updater.run();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
