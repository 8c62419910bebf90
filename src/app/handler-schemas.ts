import type { JsonSchema } from '../worker/handlers/schema.ts';

let known: Promise<Readonly<Record<string, JsonSchema>>> | undefined;

/** What the handlers that come with leasehold take, by name. Loaded when somebody asks. */
export function handlerSchemas(): Promise<Readonly<Record<string, JsonSchema>>> {
  known ??= load();
  return known;
}

async function load(): Promise<Readonly<Record<string, JsonSchema>>> {
  const [{ echo }, { makeHttp }, { makeShell }, { makeJs }] = await Promise.all([
    import('../worker/handlers/echo.ts'),
    import('../worker/handlers/http.ts'),
    import('../worker/handlers/shell.ts'),
    import('../worker/handlers/js.ts'),
  ]);
  const schemaOf = ({ schema }: { readonly schema: unknown }): JsonSchema =>
    (schema as { readonly jsonSchema: JsonSchema }).jsonSchema;
  return { echo: schemaOf(echo), http: schemaOf(makeHttp()), shell: schemaOf(makeShell()), js: schemaOf(makeJs()) };
}
