import { jsonInAnswer } from '../../flow/agent/answer-json.ts';
import type { Agent } from '../../flow/agent/definition.ts';
import { coerceOutput } from '../../flow/agent/output-fields.ts';
import type { AgentResult } from '../../flow/agent/result.ts';

const MOST_TOLD = 3;

/** The answer with the fields that `output` of the agent asks for. One that does not have them is an error that may pass. */
export function heldToOutput({ output: fields }: Pick<Agent, 'output'>, result: AgentResult): AgentResult {
  const { content, error, tool_calls: calls, finish_reason: finish } = result;
  if (fields.size === 0 || error !== undefined || content === undefined) return result;
  if (finish === 'tool_use' && calls !== undefined) return result;
  const found = jsonInAnswer(content);
  const { output, wrong } =
    found === undefined ? { output: {}, wrong: ['it is not JSON'] } : coerceOutput(fields, found);
  if (wrong.length === 0) return { ...result, output };
  const told = wrong.slice(0, MOST_TOLD).join('; ');
  const message = `the answer is not what "output" asks for: ${told}${wrong.length > MOST_TOLD ? '; …' : ''}`;
  return {
    ...result,
    finish_reason: 'error',
    error: { code: 'invalid_output', type: 'AgentError', message, retryable: true },
  };
}
