/**
 * The program that tests of whole processes start, bundled as users have it: such a start costs a quarter of the CPU of one from the sources,
 * 0.1 s of 0.4, and a tier starts thousands. So are the children of chaos, each of which holds a store or a worker.
 */
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, RolldownMagicString } from 'rolldown';
import { bundleOf } from '../../build/bundle.ts';
import { installBundled } from '../../build/install.ts';
import { bundledChild } from '../support/leasehold.ts';
import { ROOT } from './job.ts';

const CACHE = join(ROOT, 'node_modules/.cache');
const FOLDER = join(CACHE, 'leasehold-program');
/** Of an installation in a folder. */
const BIN = 'node_modules/leasehold/bin/leasehold.js';
/** Tasks of these are loaded by other processes, from the sources; times of one are measured to the millisecond; and one is a small script. */
const UNBUNDLED = /\/(farm-\w+|workflow|survivors|race|disk)-child\.ts$/;

/** Where tests find it (../support/leasehold.ts). */
export const WITH_PROGRAM = { LEASEHOLD_TEST_PROGRAM: join(FOLDER, BIN) } as const;

/** A module of tests keeps the URL that it has: it shows where other files of tests are. */
const urlsOfTests: Plugin = {
  name: 'urls-of-tests',
  transform: {
    filter: { code: 'import.meta.url', id: { exclude: /[\\/]src[\\/]/ } },
    handler(code, id) {
      const text = new RolldownMagicString(code);
      text.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href));
      return { code: text.toString(), map: text.generateMap({ hires: true, source: id }).toString() };
    },
  },
};

/** Beside the one that is there, and then put in its place: another tier may have begun meanwhile. */
async function build(): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const fresh = mkdtempSync(`${FOLDER}-`);
  const bin = await installBundled(fresh);
  const dist = join(bin, '../../dist');
  symlinkSync(join(ROOT, 'web/dist'), join(dist, 'ui'));
  const children = globSync('test/chaos/**/*-child.ts', { cwd: ROOT }).filter((file) => !UNBUNDLED.test(file));
  const input = children.map((file) => [basename(bundledChild(bin, file), '.js'), join(ROOT, file)]);
  const output = { dir: dist, entryFileNames: 'children/[name].js', chunkFileNames: 'children/shared-[name].js' };
  await bundleOf(join(ROOT, 'src'), Object.fromEntries(input), output, { plugins: [urlsOfTests] });
  rmSync(FOLDER, { recursive: true, force: true });
  renameSync(fresh, FOLDER);
  console.log(relative(ROOT, FOLDER));
}

if (import.meta.main) await build();
