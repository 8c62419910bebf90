/** Profiles: how agents are run (`flatprofile`, `flatprofiles`), kept apart from what they are asked. */
import { isMap, mapOf, type Value, type ValueMap } from '../expression/values.ts';
import type { Path, Problems } from '../machine/problems.ts';

/** Which kind of agent, and its settings. For the kind `llm` they are those of the model. */
export interface Profile {
  readonly runtime: string;
  readonly config: ValueMap;
}

export interface Profiles {
  readonly named: ReadonlyMap<string, Profile>;
  readonly default: string | undefined;
  readonly override: string | undefined;
}

export const NO_PROFILES: Profiles = { named: new Map(), default: undefined, override: undefined };

/** A catalogue, with `spec` and `data` around it or without, in the words of any version. */
export function readProfiles(value: Value, problems: Problems, path: Path = []): Profiles {
  if (!isMap(value)) {
    problems.error(path, 'profiles are a map');
    return NO_PROFILES;
  }
  const { spec } = value;
  if (spec !== undefined && spec !== 'flatprofiles' && spec !== 'flatprofile') {
    problems.error([...path, 'spec'], 'expected "spec: flatprofiles"');
  }
  const data = isMap(value['data']) ? value['data'] : value;
  // The newest form of a file has one profile only.
  if (typeof data['type'] === 'string') {
    return { named: new Map([['default', profileOf(data)]]), default: 'default', override: undefined };
  }
  const named = new Map<string, Profile>();
  for (const field of ['model_profiles', 'profiles']) {
    const all = data[field];
    if (all === undefined || all === null) continue;
    if (!isMap(all)) problems.error([...path, 'data', field], 'expected a map from names to profiles');
    else {
      for (const [name, one] of Object.entries(all)) {
        if (isMap(one)) named.set(name, profileOf(one));
        else problems.error([...path, 'data', field, name], 'a profile is a map');
      }
    }
  }
  const nameIn = (field: string): string | undefined => {
    const name = data[field];
    if (name === undefined || name === null) return undefined;
    if (typeof name === 'string' && named.has(name)) return name;
    problems.warning([...path, 'data', field], `there is no profile ${JSON.stringify(name)}`);
    return undefined;
  };
  return { named, default: nameIn('default'), override: nameIn('override') };
}

/** `{type, …}` since version 4; before, the settings of a model alone. */
export function profileOf(value: ValueMap): Profile {
  const { type, ...config } = value;
  if (typeof type !== 'string' || type === 'llm') {
    return { runtime: 'llm', config: isMap(config['model']) ? config['model'] : config };
  }
  return { runtime: type, config };
}

/**
 * The default, then the profile that the agent names, then what the agent itself says, then the override. `own` is the name of a profile,
 * a map of settings that may name one in `profile`, or nothing.
 */
export function resolveProfile(profiles: Profiles, own: Value, problems: Problems, path: Path): Profile {
  const { named } = profiles;
  const steps: Profile[] = [];
  const add = (name: string | undefined): void => {
    const profile = name === undefined ? undefined : named.get(name);
    if (profile !== undefined) steps.push(profile);
  };
  add(profiles.default);
  const name = typeof own === 'string' ? own : isMap(own) ? own['profile'] : undefined;
  if (typeof name === 'string') {
    if (named.has(name)) add(name);
    else if (profiles.default !== undefined) {
      problems.warning(path, `there is no profile "${name}": the default is used`);
    } else {
      // Before there were profiles, the name of a model stood here.
      problems.warning(path, `there is no profile "${name}": it is taken as the name of a model`);
      steps.push({ runtime: 'llm', config: { name } });
    }
  }
  if (isMap(own)) {
    const { profile: _, ...rest } = own;
    const entries = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined);
    if (entries.length > 0) {
      const said = mapOf(entries);
      const inherited = steps.at(-1)?.runtime;
      // Settings without a type belong to the profile that they refine.
      steps.push('type' in said ? profileOf(said) : { runtime: inherited ?? 'llm', config: said });
    }
  }
  add(profiles.override);
  return steps.reduce<Profile>(
    (before, { runtime, config }) =>
      runtime === before.runtime ? { runtime, config: { ...before.config, ...config } } : { runtime, config },
    { runtime: 'llm', config: {} },
  );
}
