import type { AnyTask } from '../../define/definition.ts';
import type { ModuleToLoad } from './messages.ts';

/** A module that does not load, or has no task. */
export class LoadError extends Error {
  readonly module: string;

  constructor(module: string, problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.module = module;
  }
}

/** Imports the modules one after the other, so that the faulty one is known even when it ends the process. */
export async function loadTasks(
  modules: readonly ModuleToLoad[],
  loading: (module: string) => void,
): Promise<ReadonlyMap<string, AnyTask>> {
  const tasks = new Map<string, AnyTask>();
  const origin = new Map<string, string>();
  for (const { module, names } of modules) {
    loading(module);
    const found = (await exportsOf(module)).filter(({ name }) => names?.includes(name) ?? true);
    for (const name of names ?? []) {
      if (!found.some((task) => task.name === name)) throw new LoadError(module, `it exports no task named ${name}`);
    }
    if (found.length === 0) throw new LoadError(module, 'it exports no task');
    for (const task of found) {
      const other = tasks.get(task.name);
      // The same task under two names, such as `default`, or exported again by another module, is no conflict.
      if (other !== undefined && other !== task) {
        throw new LoadError(
          module,
          `it exports a second task named ${task.name}; the first is in ${origin.get(task.name)}`,
        );
      }
      tasks.set(task.name, task);
      origin.set(task.name, module);
    }
  }
  return tasks;
}

async function exportsOf(module: string): Promise<readonly AnyTask[]> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = (await import(module)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new LoadError(module, `it does not load: ${reason}`, { cause: error });
  }
  return Object.values(exported).filter(isTask);
}

function isTask(value: unknown): value is AnyTask {
  if (typeof value !== 'object' || value === null) return false;
  const { name, run } = value as { name?: unknown; run?: unknown };
  return typeof name === 'string' && typeof run === 'function';
}
