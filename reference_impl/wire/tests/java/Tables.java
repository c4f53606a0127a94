// Prints Kafka's error codes, api keys and header versions: "error CODE NAME RETRIABLE",
// "api KEY NAME Name FORWARDABLE LISTENER..." and "header KEY VERSION REQUEST RESPONSE".

import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
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
                .append(key.name).append(' ').append(key.forwardable);
            for (ApiMessageType.ListenerType listener : ApiMessageType.ListenerType.values()) {
                if (key.messageType.listeners().contains(listener)) {
                    line.append(' ').append(listener.name());
                }
            }
            line.append(';');
            short last = key.messageType.highestSupportedVersion(true);
            for (short version = key.messageType.lowestSupportedVersion(); version <= last; version++) {
                line.append("header ").append(key.id).append(' ').append(version).append(' ')
                    .append(key.requestHeaderVersion(version)).append(' ')
                    .append(key.responseHeaderVersion(version)).append(';');
            }
        }
        System.out.println(line);
    }
}
