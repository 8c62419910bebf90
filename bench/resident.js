/**
 * An idle worker as a program of its own: `resident.js URL-OF-THE-LIBRARY FILE`. It has run its tasks, says so over IPC
 * and stays. Plain JavaScript, so that nothing but the library decides whether Node loads what it needs for TypeScript.
 */
const [url, file] = process.argv.slice(2);
const library = await import(url);

const TASKS = 100;
process.on('disconnect', () => process.exit(1)); // the bench is gone

const noop = library.task('noop', { run: () => null });
const app = await library.open(`sqlite:${file}`);
const worker = app.worker({ tasks: [noop], slots: 8 });
await worker.start();
const handles = await Promise.all(Array.from({ length: TASKS }, (_, n) => app.push(noop, { n })));
await Promise.all(handles.map((handle) => handle.result()));
process.send('idle');
