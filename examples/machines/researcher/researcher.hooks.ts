/** The tools of researcher.yml, and what is kept of their results. */
const SHELF: Readonly<Record<string, string>> = {
  lease: 'A lease is the right to do something until a certain time.',
  fence: 'A fence keeps out whoever comes back after its lease has run out.',
};

export function getToolProvider() {
  return {
    getToolDefinitions: () => [
      {
        type: 'function',
        function: {
          name: 'look_up',
          description: 'What the shelf says about a word.',
          parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
        },
      },
    ],
    executeTool: (_name: string, _id: string, { word }: { readonly word?: unknown }) => {
      const found = SHELF[String(word)];
      return found ?? { content: `there is nothing about ${String(word)}`, is_error: true };
    },
  };
}

export function onToolResult(
  _state: string,
  result: { readonly content: string; readonly is_error: boolean },
  context: { readonly notes: readonly string[] },
): object {
  const notes = result.is_error ? context.notes : [...context.notes, result.content];
  return { ...context, notes, enough: notes.length >= 2 };
}
