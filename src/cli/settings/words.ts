import type { FieldChange, Outcome, Plan, Step } from '../../operate/settings/plan.ts';
import type { TagView } from '../../operate/views.ts';
import type { Format, Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';

const SIGNS: Readonly<Record<Step['does'], readonly [sign: string, colour: Format]>> = {
  create: ['+', 'green'],
  change: ['~', 'yellow'],
  remove: ['-', 'red'],
};
/** Of one value in a line: a workflow or an input may be long. */
const MOST_VALUE = 80;
const MOST_FIELDS = 12;

/** The changes of a plan, one block for each thing. */
export function tellPlan({ steps }: Plan, out: Out): void {
  for (const { kind, name, does, fields } of steps) {
    const [sign, colour] = SIGNS[does];
    out.line(out.paint(colour, `${sign} ${kind} ${safeLine(name)}`));
    if (does === 'remove') continue;
    for (const field of fields.slice(0, MOST_FIELDS)) out.line(`    ${fieldText(field)}`);
    if (fields.length > MOST_FIELDS) out.line(`    and ${fields.length - MOST_FIELDS} more`);
  }
}

export function fieldText({ path, from, to }: FieldChange): string {
  const name = safeLine(path);
  if (from === undefined) return `${name}: ${valueText(to)}`;
  return `${name}: ${valueText(from)} → ${to === undefined ? 'nothing' : valueText(to)}`;
}

function valueText(value: unknown): string {
  const text = safeLine(JSON.stringify(value));
  return text.length <= MOST_VALUE ? text : `${text.slice(0, MOST_VALUE)}…`;
}

/** `1 to make, 2 to change, 3 stay as they are`. */
export function countText({ steps, same }: Plan): string {
  const count = (does: Step['does']): number => steps.filter((step) => step.does === does).length;
  const parts = [
    [count('create'), 'to make'],
    [count('change'), 'to change'],
    [count('remove'), 'to remove'],
  ] as const;
  const some = parts.filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`);
  return [...some, `${same} as they should be`].join(', ');
}

const DONE: Readonly<Record<Step['does'], string>> = { create: 'Made', change: 'Changed', remove: 'Removed' };

export function tellOutcome({ step: { kind, name, does }, told, error }: Outcome, out: Out): void {
  const what = `${kind} ${safeLine(name)}`;
  if (error !== undefined) return out.note(`${what} was not changed: ${safeLine(error.message)}`);
  out.line(`${DONE[does]} ${what}.`);
  if (told?.join !== undefined) {
    out.line(`  ${safeLine(name)} may join. On the other host, with the address of a node in the place of URL:`);
    out.line(`  ${told.join}`);
    out.note('The code is good once, within ten minutes.');
  }
  if (told?.secret !== undefined) {
    out.line(`  Its sender signs with ${told.secret}`);
    out.note('The secret is shown this once.');
  }
}

/** What is asked for and nobody has, one sentence each. */
export function missingText({ tag, wantedBy, usedBy }: TagView): string {
  const users = [...wantedBy.map((queue) => `queue ${queue}`), ...usedBy.map(({ kind, name }) => `${kind} ${name}`)];
  const what = tag.startsWith('credential:') ? `credential ${tag.slice('credential:'.length)}` : `tag ${tag}`;
  const [some, more] = [users.slice(0, MOST_USERS), users.length - MOST_USERS];
  return `${safeLine(some.join(', '))}${more > 0 ? ` and ${more} more` : ''} ${users.length === 1 ? 'needs' : 'need'} ${safeLine(what)}, which no enabled worker has.`;
}

const MOST_USERS = 4;
