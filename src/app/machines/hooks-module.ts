/** Hooks from a module that somebody names on the command line. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fault } from '../../core/errors.ts';
import type { HooksRegistry } from '../../worker/machine/hooks-registry.ts';
import type { HooksFactory, MachineHooks } from '../../worker/machine/machine-hooks.ts';

const METHOD = /^(?:on[A-Z]\w*|on_[a-z]\w*|getToolProvider|get_tool_provider|aroundRun|around_run)$/;

/**
 * The default export stands for the hooks that the machine names, and so do methods of hooks that the module exports by themselves (`onAction`). Any other export
 * is registered under its name: a class, a function that makes hooks, or hooks as they are. Instead of a module, hooks can be named that are
 * registered.
 */
export async function loadHooksModule(module: string, registry: HooksRegistry): Promise<readonly MachineHooks[]> {
  if (registry.has(module) && !existsSync(resolve(module))) {
    return [await registry.resolve({ name: module, file: undefined, module: undefined, class: undefined, args: {} })];
  }
  const { default: main, ...named } = await importOf(module);
  const methods = Object.entries(named).filter(([name]) => METHOD.test(name));
  for (const [name, value] of Object.entries(named)) {
    if (!METHOD.test(name) && isHooks(value)) registry.register(name, factoryOf(value));
  }
  if (main !== undefined && !isHooks(main)) {
    const problem = 'its default export is no hooks: expected an object, a class or a function that makes them';
    throw fault('INVALID_INPUT', { field: module, problem });
  }
  const own: MachineHooks[] = methods.length === 0 ? [] : [Object.fromEntries(methods)];
  return main === undefined ? own : [await factoryOf(main)({}), ...own];
}

type Made = object | ((args: unknown) => unknown);

const isHooks = (value: unknown): value is Made =>
  typeof value === 'function' || (typeof value === 'object' && value !== null);

async function importOf(module: string): Promise<Readonly<Record<string, unknown>>> {
  const file = resolve(module);
  if (!existsSync(file)) {
    throw fault('NOT_FOUND', { kind: 'module', id: module }, { hint: 'Check the path; it is taken from this folder.' });
  }
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const problem = `it cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
    throw fault('INVALID_INPUT', { field: module, problem }, { cause: error });
  }
}

/** A class is made with the arguments that the machine gives, a function is called with them, and an object is taken as it is. */
function factoryOf(value: Made): HooksFactory {
  if (typeof value !== 'function') return () => value;
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  if (isClass) return (args) => new (value as unknown as new (args: unknown) => MachineHooks)(args);
  return value as HooksFactory;
}
