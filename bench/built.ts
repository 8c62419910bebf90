/** The package as `npm run build` would leave it, in a folder of its own. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const MIGRATIONS = ['store/sqlite/migrations', 'store/postgres/migrations'];

/** Gives the folder with the built modules. `root`: the checkout, by default this one. */
export function buildInto(folder: string, root = ROOT): string {
  const dist = join(folder, 'dist');
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const tsc = [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(root, 'tsconfig.build.json'),
    '--outDir',
    dist,
  ];
  execFileSync(process.execPath, tsc, { cwd: root, stdio: ['ignore', 2, 2] });
  // Older commits are published as the compiler writes them.
  const bundle = join(root, 'build/bundle.ts');
  if (existsSync(bundle)) {
    execFileSync(process.execPath, [bundle, join(root, 'src'), dist], { cwd: root, stdio: ['ignore', 2, 2] });
  }
  for (const migrations of MIGRATIONS)
    cpSync(join(root, 'src', migrations), join(dist, migrations), { recursive: true });
  const machines = join(root, 'machines');
  if (existsSync(machines)) cpSync(machines, join(folder, 'machines'), { recursive: true });
  return dist;
}
