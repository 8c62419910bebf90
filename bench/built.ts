/** The package as `npm run build` would leave it, in a folder of its own. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const MIGRATIONS = 'store/sqlite/migrations';

/** Gives the folder with the built modules. */
export function buildInto(folder: string): string {
  const dist = join(folder, 'dist');
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const tsc = [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(ROOT, 'tsconfig.build.json'),
    '--outDir',
    dist,
  ];
  execFileSync(process.execPath, tsc, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  cpSync(join(ROOT, 'src', MIGRATIONS), join(dist, MIGRATIONS), { recursive: true });
  return dist;
}
