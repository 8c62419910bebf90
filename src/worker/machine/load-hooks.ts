/** The hooks that a machine names, found and made. */
import { isAbsolute, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fault } from '../../core/errors.ts';
import type { Value, ValueMap } from '../../flow/expression/values.ts';
import type { HookReference, Machine } from '../../flow/machine/definition.ts';
import { renderField, StateError } from '../../flow/machine/scopes.ts';
import { HookChain } from './hook-chain.ts';
import type { LoaderOptions } from './loader-options.ts';
import type { MachineHooks } from './machine-hooks.ts';

/** Whether its hooks depend on the input of a run. */
export function hooksSeeInput({ hooks, lifecycleHooks, states }: Machine): boolean {
  const all = [...hooks, ...lifecycleHooks, ...[...states.values()].flatMap((state) => state.hooks)];
  return all.some(({ argTemplates }) => argTemplates !== undefined);
}

/**
 * Hooks that the caller gave come instead of those of the machine. Those of single states are looked up all the same. Throws a `StateError` if
 * their arguments cannot be rendered.
 */
export async function hooksOf(
  machine: Machine,
  folder: string,
  options: LoaderOptions,
  input: Value = {},
): Promise<HookChain> {
  const withArgs = (reference: HookReference): HookReference => {
    const { argTemplates, ...others } = reference;
    if (argTemplates === undefined) return reference;
    return { ...others, args: renderField(machine, 'hooks.args', argTemplates, { input }) as ValueMap };
  };
  const maker = new HookMaker(folder, options, withArgs);
  const { own = [], inherited = [] } = options;
  const [hooks, lifecycle] =
    own.length > 0 ? [own, []] : [await maker.all(machine.hooks), await maker.all(machine.lifecycleHooks)];
  const states = new Map<string, readonly MachineHooks[]>();
  for (const { name, hooks: references } of machine.states.values()) {
    const ofState = await maker.all(references);
    if (ofState.length > 0) states.set(name, ofState);
  }
  // Those of the machine around it also stand in for hooks that it names and that cannot be found.
  const sets = { machine: hooks.length + lifecycle.length > 0 ? hooks : inherited, lifecycle, states };
  return new HookChain(sets, machine.specVersion, options.strict === true ? undefined : saysOnce(machine, options));
}

/** As in the original: an action that nobody hears changes nothing. */
function saysOnce({ name }: Machine, { onWarning }: LoaderOptions): (state: string, action: string) => void {
  const said = new Set<string>();
  return (state, action) => {
    if (said.has(action)) return;
    said.add(action);
    onWarning?.(`${name}: no hook performs the action "${action}" of the state "${state}": it changes nothing`);
  };
}

class HookMaker {
  readonly #folder: string;
  readonly #options: LoaderOptions;
  /** One object for each reference: hooks may remember what they have seen in another state. */
  readonly #made = new Map<string, Promise<MachineHooks>>();
  /** References that could not be made, and were spoken of: many states may share one. */
  readonly #missed = new Set<string>();

  readonly #withArgs: (reference: HookReference) => HookReference;

  constructor(folder: string, options: LoaderOptions, withArgs: (reference: HookReference) => HookReference) {
    this.#folder = folder;
    this.#withArgs = withArgs;
    this.#options = options;
  }

  /** What cannot be made is an error, unless the caller gave hooks that stand in for it. */
  async all(references: readonly HookReference[]): Promise<readonly MachineHooks[]> {
    const { own = [], inherited = [], onWarning } = this.#options;
    const standIn = own.length + inherited.length > 0;
    const made = await Promise.all(
      references.map(async (reference) => {
        try {
          return await this.#one(this.#withArgs(reference));
        } catch (error) {
          if (!standIn || error instanceof StateError) throw error;
          const key = JSON.stringify(reference);
          if (!this.#missed.has(key)) {
            onWarning?.(`${nameOf(reference)}: ${error instanceof Error ? error.message : String(error)}`);
          }
          this.#missed.add(key);
          return undefined;
        }
      }),
    );
    return made.filter((one) => one !== undefined);
  }

  #one(reference: HookReference): Promise<MachineHooks> {
    const key = JSON.stringify(reference);
    const made = this.#made.get(key) ?? this.#make(reference);
    this.#made.set(key, made);
    return made;
  }

  /** By name, or the class of a module: a file beside the machine, or a package. */
  async #make(reference: HookReference): Promise<MachineHooks> {
    const place = reference.file ?? reference.module;
    if (place === undefined) return this.#options.hooks.resolve(reference, this.#folder);
    const module = await this.#import(place, reference.file !== undefined);
    const name = reference.class ?? 'default';
    const made = Object.hasOwn(module, name) ? module[name] : undefined;
    if (typeof made === 'function') return new (made as new (args: unknown) => MachineHooks)(reference.args);
    if (isObject(made)) return made as MachineHooks;
    throw fault(
      'NOT_FOUND',
      { kind: 'class', id: name },
      { hint: `${place} exports ${Object.keys(module).join(', ')}.` },
    );
  }

  async #import(place: string, isFile: boolean): Promise<Readonly<Record<string, unknown>>> {
    const hint = 'Write them in JavaScript or TypeScript, register hooks by name, or give hooks to the run.';
    if (place.endsWith('.py'))
      throw fault('INVALID_INPUT', { field: place, problem: 'these are hooks in Python' }, { hint });
    const isPath = isFile || place.startsWith('.') || isAbsolute(place);
    const path = isPath ? resolve(this.#folder, place) : place;
    const { importHooks } = this.#options;
    if (importHooks !== undefined) return importHooks(path);
    try {
      const url = isPath ? pathToFileURL(path).href : place;
      return (await import(url)) as Readonly<Record<string, unknown>>;
    } catch (error) {
      const problem = `its hooks cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
      throw fault('INVALID_INPUT', { field: place, problem }, { hint });
    }
  }
}

const nameOf = ({ name, file, module }: HookReference): string => name ?? file ?? module ?? 'hooks';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
