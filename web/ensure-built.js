// Run by "npm start": builds the pages when there are none, or when their sources are newer. What is built already costs a few milliseconds.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url));
const built = join(web, 'dist', 'index.html');

/** The newest change among the files below. */
function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function stale() {
  if (!existsSync(`${built}.br`)) return true;
  const since = statSync(built).mtimeMs;
  const sources = ['src', 'public', 'index.html', 'package.json', 'vite.config.ts', '../src/client', '../src/protocol'];
  return sources.some((name) => newest(join(web, name)) > since);
}

if (stale()) {
  let vite;
  try {
    vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin', 'vite.js');
  } catch {
    // Without development dependencies, as after "npm ci --omit=dev": the node runs, its pages are those that there are.
    console.error('The web pages are not built: vite is not installed. Run "npm ci" for them.');
    process.exit(0);
  }
  console.error('Building the web pages, which is done once …');
  // Beside the others, and then put in their place at once: a node that serves them meanwhile, or a second build, sees whole pages.
  const [fresh, old] = [join(web, `.built-${process.pid}`), join(web, `.old-${process.pid}`)];
  const env = { ...process.env, NODE_ENV: 'production' };
  const steps = [
    [vite, 'build', '--logLevel', 'warn', '--outDir', fresh, '--emptyOutDir'],
    ['compress.js', fresh],
  ];
  try {
    for (const args of steps) {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: web, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${stdout}${stderr}`);
    }
    const dist = dirname(built);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } catch (error) {
    // Another start was quicker: then they are there. And a node without pages, or with those of yesterday, still does all its work.
    if (stale()) console.error(`${error.message}\nThe web pages could not be built; the node starts all the same.`);
  } finally {
    for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  }
}
