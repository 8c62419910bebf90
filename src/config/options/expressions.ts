import { filled, jsonMap, oneOf } from '../parse.ts';
import type { OptionTable } from './option.ts';

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});

/** What an expression or a template is asked with. */
export const EXPRESSION_OPTIONS = {
  context: {
    doc: 'What the expression sees: {"context": …, "input": …, "output": …}',
    value: 'JSON',
    parse: jsonMap,
    env: [],
    fallback: () => NOTHING,
    fallbackDoc: 'empty',
  },
  engine: {
    doc: 'The language: simple or cel for conditions, template for all else',
    value: 'ENGINE',
    parse: oneOf('simple', 'cel', 'template'),
    env: [],
    fallback: () => 'simple' as const,
  },
  batch: {
    doc: 'Answer the questions of a file, or of standard input (-): one a line, {"expr", "engine", "context"}',
    value: 'FILE|-',
    parse: filled,
    env: [],
    fallback: () => undefined,
    fallbackDoc: 'one question',
  },
} satisfies OptionTable;
