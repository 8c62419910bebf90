import { isList, isMap, type Value } from '../../expression/values.ts';
import type { MachineBundle } from './bundle.ts';

/** More of them are permitted together. */
const MOST_CHANNELS = 100;
const TEMPLATE = /\{[{%#]/;

/**
 * The channels that the machines of a bundle may wait on, as permissions say them: what each `wait_for` says before its first template, followed by
 * `*`. One without a template is the name itself.
 */
export function channelsOf({ machine, files, registered }: MachineBundle): readonly string[] {
  const found = new Set<string>();
  const sources = [machine.value, ...Object.values(files), ...Object.values(registered).map(({ value }) => value)];
  for (const source of sources) addChannels(source as Value, found);
  const stars = [...found].filter((one) => one.endsWith('*')).map((one) => one.slice(0, -1));
  const needed = [...found].filter((one) => !stars.some((begins) => one !== `${begins}*` && one.startsWith(begins)));
  return needed.length > MOST_CHANNELS ? ['*'] : needed.sort();
}

/** Machines stand within machines, at any depth. */
function addChannels(source: Value, found: Set<string>): void {
  const open: Value[] = [source];
  for (let value = open.pop(); value !== undefined || open.length > 0; value = open.pop()) {
    if (isList(value)) open.push(...value);
    else if (isMap(value)) {
      const { wait_for: channel } = value;
      if (typeof channel === 'string' && channel !== '') found.add(patternOf(channel));
      open.push(...Object.values(value));
    }
  }
}

function patternOf(channel: string): string {
  const at = channel.search(TEMPLATE);
  const literal = at === -1 ? channel : channel.slice(0, at);
  // A name with a star of its own would be refused as a pattern.
  const star = literal.indexOf('*');
  if (star !== -1) return `${literal.slice(0, star)}*`;
  return at === -1 ? literal : `${literal}*`;
}
