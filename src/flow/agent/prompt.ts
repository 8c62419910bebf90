/** What an agent is told: its prompts with the input of the state. */
import { TEMPLATE_BOUNDS } from '../expression/budget.ts';
import { ExpressionError } from '../expression/expression-error.ts';
import type { Value, ValueMap } from '../expression/values.ts';
import { StateError } from '../machine/scopes.ts';
import { renderTemplate, type Template, templateOf } from '../template/template.ts';
import type { Agent } from './definition.ts';
import { outputSchema } from './output-fields.ts';

export interface Prompts {
  /** Undefined: the agent has none of its own. */
  readonly system: string | undefined;
  readonly user: string;
}

/** A prompt is text: a word that looks like a path of a machine is only a word. Throws an `ExpressionError`. */
export function promptOf(source: string): Template {
  return /\{[{%#]/.test(source) ? templateOf(source, TEMPLATE_BOUNDS) : { kind: 'literal', text: source };
}

/** Throws a `StateError` that says which prompt cannot be rendered. */
export function renderPrompts(
  { profile, system, user, suffix, mcp }: Agent,
  input: Value,
  tools: readonly Value[] = [],
): Prompts {
  const told =
    mcp?.prompt === undefined || tools.length === 0 ? '' : rendered('mcp.tool_prompt', mcp.prompt, { tools });
  const scope: ValueMap = { input, tools, tools_prompt: told, model: profile.config };
  const own = rendered('user', user, scope);
  const after = suffix === undefined ? '' : rendered('instruction_suffix', suffix, scope);
  return {
    system: system === undefined ? undefined : rendered('system', system, scope),
    user: after === '' ? own : `${own}\n\n${after}`,
  };
}

function rendered(field: string, template: Template, scope: ValueMap): string {
  try {
    const value = renderTemplate(template, scope);
    return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
  } catch (error) {
    if (error instanceof ExpressionError) throw new StateError('TemplateError', `${field}: ${error.message}`);
    throw error;
  }
}

/** Asks for the fields of `output`; nothing for an agent without. */
export function outputInstruction({ output }: Agent): string | undefined {
  if (output.size === 0) return undefined;
  return `Answer with one JSON object, and nothing else, that fits this JSON schema:\n${JSON.stringify(outputSchema(output))}`;
}
