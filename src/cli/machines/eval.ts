import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { answerQuestion, evaluateExpression } from '../../app/expressions.ts';
import { loadCall } from '../../config/load.ts';
import { fault } from '../../core/errors.ts';
import { outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';

/** `leasehold eval EXPR`, `leasehold eval --batch -`. */
export const evaluate: Command = {
  name: 'eval',
  doc: 'Say what a condition or a template of a machine would give',
  args: [{ name: 'EXPR', doc: 'The expression; in quotes for the shell', optional: true }],
  options: ['context', 'engine', 'batch', 'json'],
  examples: [
    { line: `eval 'context.tries < 3' --context '{"context": {"tries": 2}}'`, does: 'true' },
    { line: `eval --engine cel '[1, 2].all(n, n > 0)'`, does: 'the same question in CEL' },
    { line: `eval --engine template '{{ range(3) }}'`, does: '[0,1,2]' },
    { line: 'eval --batch - < questions.ndjson', does: 'one question a line, one answer a line' },
  ],

  async run(args) {
    const { config, args: words } = loadCall(evaluate, args);
    const [expression] = words as [string?];
    const out = outFor(config);
    if (config.batch !== undefined) {
      if (expression !== undefined) throw bothGiven('--batch');
      for await (const line of linesOf(config.batch)) if (line.trim() !== '') out.json(answerTo(line));
      return EXIT.fine;
    }
    if (expression === undefined) throw fault('INVALID_INPUT', { field: 'EXPR', problem: 'it is missing' });
    out.json(evaluateExpression(expression, config.engine, config.context));
    return EXIT.fine;
  },
};

function bothGiven(flag: string): Error {
  return fault('INVALID_INPUT', { field: 'EXPR', problem: `it cannot be given with ${flag}` });
}

function linesOf(source: string): AsyncIterable<string> {
  return createInterface({ input: source === '-' ? process.stdin : createReadStream(source), crlfDelay: Infinity });
}

function answerTo(line: string): ReturnType<typeof answerQuestion> {
  let question: unknown;
  try {
    question = JSON.parse(line);
  } catch {
    return { error: 'this line is not JSON' };
  }
  return answerQuestion(question);
}
