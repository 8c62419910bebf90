import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Driver } from './machine-worker.ts';

/** A change of the text of the driver. It must really change it, or the defect would be none. */
export interface Edit {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** The folders of the driver: all else is shared with the driver as it is. */
const FOLDERS = ['/src/worker/machine/durable/', '/src/flow/machine/history/', '/src/worker/agents/ask-each.ts'];
const ENTRY = new URL('../../../src/worker/machine/durable/machine-task.ts', import.meta.url);

/** The driver with these changes of its text, beside the one that is shipped. Product code knows nothing of it. */
export async function plantedDriver(name: string, edits: readonly Edit[]): Promise<Driver> {
  const left = new Set(edits);
  const mark = `?planted=${name}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const own = context.parentURL?.endsWith(mark) === true && FOLDERS.some((folder) => found.url.includes(folder));
      return own ? { ...found, url: `${found.url}${mark}` } : found;
    },
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith(mark)) return loaded;
      const file = fileURLToPath(url.slice(0, -mark.length));
      let text = Buffer.from(loaded.source as Uint8Array).toString();
      for (const edit of [...left].filter((one) => file.endsWith(`/${one.file}`))) {
        if (text.split(edit.before).length !== 2) throw new Error(`${edit.file} does not say once: ${edit.before}`);
        text = text.replace(edit.before, () => edit.after);
        left.delete(edit);
      }
      return { ...loaded, source: text };
    },
  });
  try {
    const { machineTask } = (await import(`${ENTRY.href}${mark}`)) as { readonly machineTask: Driver };
    for (const { file } of left) throw new Error(`${file} is no part of the driver`);
    return machineTask;
  } finally {
    hooks.deregister();
  }
}
