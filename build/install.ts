import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');

/** The package as it is published, without types and pages, installed in a folder; answers where its command is. */
export async function installBundled(folder: string): Promise<string> {
  const own = join(folder, 'node_modules/leasehold');
  mkdirSync(own, { recursive: true });
  await bundle(join(ROOT, 'src'), join(own, 'dist'));
  for (const store of ['sqlite', 'postgres']) {
    const migrations = `store/${store}/migrations`;
    cpSync(join(ROOT, 'src', migrations), join(own, 'dist', migrations), { recursive: true });
  }
  const script = 'server/release/install.sh';
  cpSync(join(ROOT, 'src', script), join(own, 'dist', script));
  for (const part of ['bin', 'machines']) cpSync(join(ROOT, part), join(own, part), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(own, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(own, 'node_modules'));
  return join(own, 'bin/leasehold.js');
}
