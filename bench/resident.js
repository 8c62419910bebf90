/**
 * An idle worker as a program of its own: `resident.js URL-OF-THE-LIBRARY ADDRESS`, or a bare Node without them. It has run its tasks, says so over IPC
 * and stays. Plain JavaScript, so that nothing but the library decides whether Node loads what it needs for TypeScript.
 */
const [url, address] = process.argv.slice(2);

const TASKS = 100;
process.on('disconnect', () => process.exit(1)); // the bench is gone

if (url !== undefined) await work(await import(url));
process.send('idle');

async function work({ task, open }) {
  const noop = task('noop', { run: () => null });
  const app = await open(address);
  const worker = app.worker({ tasks: [noop], slots: 8 });
  await worker.start();
  const handles = await Promise.all(Array.from({ length: TASKS }, (_, n) => app.push(noop, { n })));
  await Promise.all(handles.map((handle) => handle.result()));
}
