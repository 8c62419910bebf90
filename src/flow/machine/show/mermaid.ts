import type { Outline, OutlinedState } from './outline.ts';

/** Longer labels make a diagram unreadable. */
const MOST_LABEL = 80;

/** A `stateDiagram-v2` of Mermaid. States have ids of our own, so that any name can be shown. */
export function mermaidOf({ states, initial }: Outline): string {
  const ids = new Map(states.map(({ name }, i) => [name, `s${i}`]));
  const id = (name: string): string => ids.get(name) as string;
  const lines = states.flatMap((state) => [
    `state "${escaped(state.name)}" as ${id(state.name)}`,
    ...state.does.map(([verb, what]) => `${id(state.name)} : ${escaped(`${verb} ${what}`)}`),
  ]);
  const moves = states.flatMap((state) => movesOf(state, id));
  const failing = new Set(states.flatMap(({ errors }) => errors.map(({ to }) => to)));
  const marked = [...failing].map((name) => `class ${id(name)} recovery`);
  return [
    'stateDiagram-v2',
    ...[...lines, `[*] --> ${id(initial)}`, ...moves].map((line) => `    ${line}`),
    ...(marked.length === 0 ? [] : ['classDef recovery stroke-dasharray: 5 5', ...marked].map((line) => `    ${line}`)),
    '',
  ].join('\n');
}

function movesOf(state: OutlinedState, id: (name: string) => string): readonly string[] {
  const from = id(state.name);
  const conditional = state.transitions.some(({ when }) => when !== undefined);
  return [
    ...state.transitions.map(({ to, when }) => {
      const label = when ?? (conditional ? 'else' : undefined);
      return `${from} --> ${id(to)}${label === undefined ? '' : ` : ${escaped(label)}`}`;
    }),
    ...state.errors.map(({ to, type }) => {
      const label = type === 'default' ? 'on error' : `on error ${type}`;
      return `${from} --> ${id(to)} : ${escaped(label)}`;
    }),
    ...(state.final ? [`${from} --> [*]`] : []),
  ];
}

/** What is neither a letter, a digit nor plain punctuation is written as its number, which no parser of Mermaid takes for syntax. */
function escaped(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const short = line.length > MOST_LABEL ? `${line.slice(0, MOST_LABEL - 1).toWellFormed()}…` : line;
  return short.replace(/[^\p{L}\p{N} _.,/()+*!?=…-]/gu, (letter) => `#${letter.codePointAt(0)};`);
}
