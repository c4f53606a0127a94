// Prints Kafka's error codes and api keys: "error CODE NAME RETRIABLE" and "api KEY NAME Name".

import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

public class Tables {
    public static void main(String[] arguments) {
        StringBuilder line = new StringBuilder();
        for (Errors error : Errors.values()) {
            line.append("error ").append(error.code()).append(' ').append(error.name()).append(' ')
                .append(error.exception() instanceof RetriableException).append(';');
        }
        for (ApiKeys key : ApiKeys.values()) {
            line.append("api ").append(key.id).append(' ').append(key.name()).append(' ')
                .append(key.name).append(';');
        }
        System.out.println(line);
    }
}
