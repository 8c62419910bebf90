import type { JsonSchema } from '../worker/handlers/schema.ts';

let known: Promise<Readonly<Record<string, JsonSchema>>> | undefined;

/** The input schemas of the built-in handlers, by name. Loaded at the first call. */
export function handlerSchemas(): Promise<Readonly<Record<string, JsonSchema>>> {
  known ??= load();
  return known;
}

async function load(): Promise<Readonly<Record<string, JsonSchema>>> {
  const [{ echo }, { makeHttp }, { makeShell }, { makeJs }] = await Promise.all([
    import('../worker/handlers/echo.ts'),
    import('../worker/handlers/http/http.ts'),
    import('../worker/handlers/shell.ts'),
    import('../worker/handlers/js.ts'),
  ]);
  const schemaOf = ({ schema }: { readonly schema: unknown }): JsonSchema =>
    (schema as { readonly jsonSchema: JsonSchema }).jsonSchema;
  return { echo: schemaOf(echo), http: schemaOf(makeHttp()), shell: schemaOf(makeShell()), js: schemaOf(makeJs()) };
}
