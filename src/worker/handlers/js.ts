import type { TaskContext } from '../define/definition.ts';
import { giveUp } from '../define/outcome.ts';
import { task } from '../define/task.ts';
import { failure } from './failure.ts';
import { moduleBelow, pathProblem } from './module-below.ts';
import { anything, object, optional, type Shape, text } from './schema.ts';

export interface JsOptions {
  /** The folder of the modules; default: the current folder of the process. */
  readonly root?: string;
}

const fields = {
  module: text({ check: pathProblem, about: 'A .js, .mjs or .ts file below the folder of modules.' }),
  export: optional(text({ minLength: 1, about: 'The function to call; default: the default export.' })),
  input: optional(anything('What the function is called with.')),
};

const input = object(fields);

/** Calls a function of a module. */
export function makeJs(options: JsOptions = {}) {
  return task('js', { input, run: (given, ctx) => run(given, ctx, options.root ?? process.cwd()) });
}

async function run(given: Shape<typeof fields>, ctx: TaskContext, root: string): Promise<unknown> {
  const { module, export: name = 'default' } = given;
  let url: string;
  try {
    url = await moduleBelow(root, module);
  } catch (error) {
    // Final, although the file may come later: a task should not wait for a file by failing.
    return giveUp(error);
  }
  const exported = (await import(url)) as Readonly<Record<string, unknown>>;
  const called = Object.hasOwn(exported, name) ? exported[name] : undefined;
  if (typeof called !== 'function') {
    return giveUp(failure('NO_FUNCTION', `${JSON.stringify(module)} exports no function ${JSON.stringify(name)}.`));
  }
  return (called as (input: unknown, ctx: TaskContext) => unknown)(given.input, ctx);
}
